package guard

import (
	"strings"
	"sync"
	"unicode/utf8"
)

// cue is a kind of secret that a word announces.
type cue uint8

// The cues.
const (
	cuePassword cue = iota + 1
	cuePIN
	cueKey  // key, token, secret: an ordinary word as well
	cueCode // code, combination: only with company such as "door" or "backup"
	cuePhrase
	cueCard
)

func (c cue) rule() string {
	switch c {
	case cuePIN:
		return rulePIN
	case cueKey:
		return ruleKey
	case cueCode:
		return ruleCode
	case cuePhrase:
		return rulePhrase
	case cueCard:
		return ruleCard
	}
	return rulePassword
}

// words is the set of the words in a list, made when it is first asked for.
func words(list string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		m := map[string]bool{}
		for _, w := range strings.Fields(list) {
			m[w] = true
		}
		return m
	})
}

// cueWords are the words that announce a secret, in lower case. These tables are never written to.
var cueWords = sync.OnceValue(func() map[string]cue {
	m := map[string]cue{}
	for c, list := range map[cue]string{
		cuePassword: `password passwords passwd pasword passwort psswd pwd pw pass passcode passcodes passphrase passwort passwörter kennwort passwd wachtwoord wachtwoordzin
			contraseña contrasena contraseñas clave senha palavra-passe palavrapasse parola parolă şifre şifresi şifrem sifre sifresi sifrem parolası parolam hasło haslo hasłem hasła heslo heslem
			lösenord lösenordet passord passordet adgangskode kodeord kodeordet salasana salasanani salasanan jelszó jelszava jelszavam лозинка пароль пароля паролем парол паролата lozinka geslo
			κωδικός κωδικό passwordul parole passe motdepasse mdp login creds credentials кодовое kata sandi`,
		cuePIN:    `pin pins pincode pinkode pinkod cvv cvc cvv2 pin-code пин пинкод пин-код pini geheimzahl`,
		cueKey:    `key keys apikey api-key token tokens secret secrets schlüssel schluessel schlüssels zugangsschlüssel geheimnis clé cle jeton jetons clef llave chiave chave clau ключ ключа токен токена sleutel klucz nyckel nøgle avain kulcs anahtar anahtarı anahtarım credential bearer otp totp kluczem nøkkel klíč cheie`,
		cueCode:   `code codes combination combo código codigo codice kod kodu kodum kodunu koden koodi kód код kode zahlenkombination kombination türcode alarmcode kombinacja`,
		cuePhrase: `seed mnemonic recovery seedphrase wiederherstellungsphrase`,
		cueCard:   `card cards karte kreditkarte carte tarjeta cartão carta kart karta карта карты visa mastercard amex iban`,
	} {
		for _, w := range strings.Fields(list) {
			m[w] = c
		}
	}
	return m
})

// farEastCues are cues in scripts without spaces, looked for anywhere in such a text.
var farEastCues = [...]struct {
	text string
	cue  cue
}{
	{"密码", cuePassword}, {"密碼", cuePassword}, {"口令", cuePassword}, {"パスワード", cuePassword}, {"パスフレーズ", cuePassword}, {"비밀번호", cuePassword}, {"패스워드", cuePassword}, {"암호", cuePassword},
	{"รหัสผ่าน", cuePassword}, {"暗証番号", cuePIN}, {"验证码", cuePIN}, {"pin码", cuePIN}, {"PIN码", cuePIN}, {"暗証", cuePIN}, {"密钥", cueKey}, {"密鑰", cueKey}, {"金鑰", cueKey}, {"秘钥", cueKey},
	{"令牌", cueKey}, {"トークン", cueKey}, {"キー", cueKey}, {"키는", cueKey}, {"키:", cueKey}, {"토큰", cueKey}, {"كلمة المرور", cuePassword}, {"كلمة السر", cuePassword}, {"पासवर्ड", cuePassword}, {"סיסמה", cuePassword}, {"הסיסמה", cuePassword},
}

// copulas stand between the name of a secret and its value.
var copulas = words(`is c'est c’est que's was are it's its ist lautet war sind heißt heisst est était sont es era son está sera é era foi sao são è erano jest to brzmi było to это был равен будет является är var blev er on oli onko je bylo van volt este esta
	olarak is: equals equal being becomes reads będzie inaczej est: lautet: ist: = := -> => → : ： είναι є e: es: é: è:`)

// weakCopulas do too, when the value looks like a secret on its own.
var weakCopulas = words(`to with as using like auf in zu à en con com na til till naar als`)

// adverbs may stand between copula and value.
var adverbs = words(`le la el o il l' der die das currently still just only simply literally actually set to again called also exactly jetzt noch immer einfach nur aktuell derzeit gerade maintenant toujours actuellement juste ahora todavía
	actualmente solo simplemente agora ainda atualmente só apenas adesso ancora attualmente solo teraz nadal po prostu сейчас теперь просто nu nog şu şimdi the this following below one here as the: going be ova taki a`)

// adjuncts may stand between the word that announces a secret and the copula: what it is for.
var adjuncts = words(`for of to the my our your his her their at on in and a an account accounts login user username wifi wi-fi wlan router network server database db email mail gmail laptop computer pc phone admin root
	work home office guest guests card bank banking debit credit sim door gate alarm safe garage house new old current main master default box api access service app site website web portal vpn ssh ftp nas tv netflix spotify amazon
	github openai google aws azure stripe slack key token code number word from this that which you need temporary temp test prod production staging dev backup recovery unlock secret private there here now so with me
	für des der die das dem den von vom zum zur meine mein meiner meines unser unseren unsere konto gast gäste karte büro handy rechner kunden
	du de la le les des mon ma mes notre pour compte réseau carte ordinateur téléphone boîte
	del el los las mi mis nuestra nuestro para cuenta tarjeta red correo mía casa da do dos das minha meu nossa nosso conta cartão rede
	di il lo i gli mio mia nostra nostro per conto carta rete dello della dell
	do od mojego moje mój mojej konta karty sieci dla для от моей моего мой моя моё карты сети аккаунта к почты почте
	van het een mijn ons onze voor rekening pas kaart min mitt mina för till min mit vores kontot kontoen benim için hesap hesabı wifi'nin kartımın`)

// vetoes after a cue turn it into talk about secrets.
var vetoes = words(`hash hashes policy policies length limit limits reset resets manager managers field fields strength expiry expiration rotation hint change changes prompt id ids name names type types file files
	format count counts size sizes window budget usage per vault generator rules rule requirement requirements protection bucket column points signature signatures value-pair pair pairs insight takeaway question questions
	idea concept difference factor feature part thing issue problem reason review sharing coverage base quality status smell block snippet example review page step steps board frame stone word words phrase search`)

// stopValues are words that follow a copula in ordinary talk.
var stopValues = words(`1password required incorrect wrong correct invalid valid missing expired strong weak good bad long short secure insecure safe unsafe unknown empty blank null nil none true false not never always very too also only
	hidden visible encrypted hashed stored saved needed optional mandatory important different same unique random secret private public protected lost forgotten stolen leaked compromised changed reset set gone here there below above
	string text number integer object undefined password passwort username user admin yes no ok okay maybe something anything nothing everything what where when why how who which that this these those
	falsch richtig ungültig gültig sicher unsicher abgelaufen vergessen geheim erforderlich lang kurz stark schwach nicht kein mein dein sein ihr incorrecto correcta incorrecta inválida válida segura caducada requerida obligatoria
	incorrect invalide requis oublié sécurisé faux errata scaduta sbagliata richiesta obbligatoria sicura неверный неправильный верный истек забыл verkeerd onjuist vereist vergeten yanlış geçersiz błędne nieprawidłowe wymagane
	case-sensitive case being used for from with the a an my your our in on at to of and or but if so it its we i you they he she working broken ready available supported disabled enabled sent given shown printed displayed accepted rejected denied
	hardcoded hard-coded plaintext base64 sha256 sha1 md5 sha-256 bcrypt argon2 utf-8 utf8 oauth2 oauth jwt http https key keys token tokens simple easy hard complex ****** ***** **** prompted provided passed read`)

// units after a number say that it counts something.
var units = words(`characters character chars char digits digit letters letter bytes byte bits bit tokens token words days day hours hour minutes minute seconds times months years zeichen ziffern stellen stellig stellige stunden tage minuten caractères chiffres
	caracteres dígitos caratteri cifre символов цифр знаков tekens cijfers karakter haneli znaków cyfr % percent euros dollars usd eur mb kb ms`)

// codeCompany is what makes "code" a secret.
var codeCompany = words(`card carte karte tarjeta cartão carta kort kortet kartı bancaire bleue cb bank banque banco banca konto døren dören dörren porten hoveddøren home heim haus hus building lift gym gate alarm garage security access unlock lock safe verification backup recovery entry building apartment house front back keypad locker pairing pickup confirmation auth authentication 2fa otp one-time login sms vault lockbox
	tür alarm alarmanlage haustür sicherheits zugangs tresor safe garagen puerta alarma porte porta alarme allarme cofre caja coffre cassaforte immeuble digicode seguridad sécurité sicurezza segurança дверь двери домофона сейфа
	сигнализации подъезда kapı kasa alarmın drzwi alarmu sejfu domofonu deur kluis portkod dörren larm gym bike suitcase`)

// cueOf tells whether a word announces a secret.
func cueOf(word string) (cue, bool) {
	var buf [maxWord]byte
	high := false
	for i := range len(word) {
		b := word[i]
		if 'A' <= b && b <= 'Z' {
			b |= 0x20
		}
		high = high || b >= utf8.RuneSelf
		buf[i] = b
	}
	if c, ok := cueWords()[string(buf[:len(word)])]; ok || !high {
		return c, ok
	}
	lower := strings.ToLower(word)
	if c, ok := cueWords()[lower]; ok {
		return c, true
	}
	for _, stem := range passwordStems {
		if strings.HasPrefix(lower, stem) {
			return cuePassword, true
		}
	}
	return 0, false
}

// passwordStems begin the words for password in languages that bend their endings. All have letters beyond ASCII, which ordinary
// English text has not.
var passwordStems = [...]string{"şifre", "contraseñ", "парол", "lösenord", "hasł", "passwör", "palavra‑passe", "κωδικ", "jelszó", "jelszav"}

// networkWords before "key" make it the password of a network.
var networkWords = words(`wlan wifi wi-fi wpa wpa2 wpa3 wep netzwerk network wireless sicherheitsschlüssel`)
