package guard

// Families of rules.
const (
	famOverride  = "instruction-override"
	famRole      = "role-impersonation"
	famExfil     = "exfiltration"
	famTool      = "tool-coercion"
	famAuthority = "authority-urgency"
	famSecrecy   = "secrecy"
	famPersist   = "persistence"
	famEncoded   = "encoded-payload"
	famHidden    = "hidden-text"
	famFence     = "delimiter-forging"
	famSteer     = "output-steering"
	famAddress   = "addressed-to-the-assistant"
)

// need is a condition: one of the concepts any within so many words of the anchor, in the same paragraph.
type need struct {
	within int
	any    []concept
}

// rule is a combination of concepts near an anchor.
type rule struct {
	name   string
	family string
	why    string
	anchor concept
	needs  []need
	weight float64
	direct bool // the anchor must be said as a command, not told about; what it needs stands in the same sentence
	boosts []boost
	last   float64 // added when the anchor ends its sentence
}

// boost adds to a rule's weight when its need is met.
type boost struct {
	need
	add float64
}

func near(within int, any ...concept) need { return need{within, any} }

func more(add float64, within int, any ...concept) boost { return boost{near(within, any...), add} }

// rules weigh what a text says. Weights are tuned on one half of the cases of the tests and measured on the other; they combine
// as independent reasons do: 1-(1-a)(1-b).
var rules = [...]rule{
	{name: "override", family: famOverride, anchor: cIgn, needs: []need{near(9, cInst, cSysPrompt), near(9, cPrev)}, weight: .72, direct: true,
		why: "It tells the assistant to disregard its instructions."},
	{name: "override-soft", family: famOverride, anchor: cIgn, needs: []need{near(8, cInstWeak), near(8, cPrev)}, weight: .42, direct: true,
		why: "It tells the assistant to disregard what it was told."},
	{name: "override-bare", family: famOverride, anchor: cIgn, needs: []need{near(6, cInst, cSysPrompt)}, weight: .25, direct: true,
		why: "It speaks of disregarding instructions."},
	{name: "override-force", family: famOverride, anchor: cIgnWeak, needs: []need{near(7, cInst, cSysPrompt), near(7, cPrev)}, weight: .42, direct: true,
		why: "It tells the assistant to set instructions aside."},
	{name: "override-phrase", family: famOverride, anchor: cOverride, weight: .62, why: "It says that the assistant's instructions are void or replaced."},
	{name: "ignore-above", family: famOverride, anchor: cIgnAbove, weight: .42, direct: true, why: "It tells the assistant to disregard what came before."},
	{name: "new-instructions", family: famOverride, anchor: cNewInst, weight: .4, why: "It announces new instructions for the assistant."},
	{name: "new-role", family: famRole, anchor: cYouAre, needs: []need{near(12, cPersona)}, weight: .6, why: "It gives the assistant another role, without limits."},
	{name: "new-mode", family: famRole, anchor: cSwitch, needs: []need{near(6, cPersona)}, weight: .4, direct: true, why: "It switches the assistant to a role or mode without limits.",
		boosts: []boost{more(.2, 12, cVocative, cMust, cYour, cInst)}},
	{name: "role", family: famRole, anchor: cYouAre, weight: .14, why: "It tells the assistant who to be."},
	{name: "addressed", family: famAddress, anchor: cVocative, weight: .48, why: "It speaks to the assistant rather than to a reader."},
	{name: "ai-reader", family: famAddress, anchor: cAINoun, needs: []need{near(6, cReads)}, weight: .42, why: "It speaks to an assistant that reads it."},
	{name: "ai-must", family: famAddress, anchor: cAINoun, needs: []need{near(3, cMust)}, weight: .34, why: "It gives orders to an assistant."},
	{name: "answer", family: famSteer, anchor: cOut, weight: .2, why: "It dictates what the answer should say.", boosts: []boost{more(.1, 12, cUser), more(.1, 12, cDest)}},
	{name: "given-task", family: famSteer, anchor: cGiven, weight: .18, why: "It changes the task.", boosts: []boost{more(.1, 16, cSide, cSend)}},
	{name: "reveal-prompt", family: famExfil, anchor: cReveal, needs: []need{near(8, cSysPrompt)}, weight: .45, direct: true, why: "It asks for the assistant's own instructions.",
		boosts: []boost{more(.18, 8, cYour, cMust, cTask)}},
	{name: "send-secrets", family: famExfil, anchor: cSend, needs: []need{near(14, cSens)}, weight: .22, direct: true, why: "It asks to send private data somewhere.",
		boosts: []boost{more(.22, 18, cUser), more(.33, 26, cDest), more(.14, 20, cHide, cHideFull, cHideTell, cNoAsk), more(.12, 6, cMust)}},
	{name: "reveal-secrets", family: famExfil, anchor: cReveal, needs: []need{near(10, cSens), near(14, cUser)}, weight: .25, direct: true, why: "It asks for the user's private data."},
	{name: "send-out", family: famExfil, anchor: cSend, needs: []need{near(14, cDest), near(8, cMust, cTask, cVocative)}, weight: .16, direct: true, why: "It asks to send something to an address."},
	{name: "keep-from-user", family: famSecrecy, anchor: cHideFull, weight: .62, why: "It wants something kept from you."},
	{name: "not-tell-user", family: famSecrecy, anchor: cHideTell, weight: .36, why: "It wants something kept from you.", boosts: []boost{more(.28, 2, cThis)}, last: .28},
	{name: "keep-from", family: famSecrecy, anchor: cHide, needs: []need{near(8, cUser)}, weight: .36, why: "It wants something kept from you."},
	{name: "quietly", family: famSecrecy, anchor: cHide, weight: .1, why: "It asks for discretion."},
	{name: "unasked", family: famTool, anchor: cNoAsk, weight: .28, why: "It wants something done without asking you."},
	{name: "run-command", family: famTool, anchor: cRun, needs: []need{near(7, cCmd)}, weight: .12, direct: true, why: "It asks to run a command or tool.",
		boosts: []boost{more(.2, 12, cVocative), more(.18, 8, cNoAsk), more(.1, 5, cMust)}},
	{name: "run-danger", family: famTool, anchor: cDanger, needs: []need{near(12, cRun, cMust)}, weight: .28, why: "It asks for something that destroys or leaks.",
		boosts: []boost{more(.22, 30, cVocative, cHideFull, cHideTell), more(.1, 30, cNoAsk), more(.1, 10, cMust), more(.2, 20, cUser)}},
	{name: "act", family: famTool, anchor: cSide, needs: []need{near(10, cObject, cDest), near(6, cMust, cTask, cGiven)}, weight: .16, direct: true, why: "It asks for an action with effects.",
		boosts: []boost{more(.18, 14, cNoAsk), more(.18, 14, cVocative)}},
	{name: "remember", family: famPersist, anchor: cMemVerb, needs: []need{near(10, cMemory, cSysPrompt)}, weight: .26, direct: true, why: "It wants to be written into memory or identity.",
		boosts: []boost{more(.22, 26, cForever), more(.1, 10, cMust)}},
	{name: "standing-order", family: famPersist, anchor: cForever, needs: []need{near(18, cSend, cHide, cHideFull, cHideTell, cNoAsk, cSteer, cIgn), near(26, cSens, cDest, cHideFull, cHideTell, cNoAsk, cSteer, cUser)}, weight: .22, why: "It sets a standing order.",
		boosts: []boost{more(.15, 26, cDest), more(.15, 26, cSens)}},
	{name: "whenever", family: famPersist, anchor: cForever, needs: []need{near(5, cUser), near(26, cDest, cSteer, cHide)}, weight: .34, why: "It sets a standing order."},
	{name: "every-answer", family: famPersist, anchor: cForever, needs: []need{near(18, cTask, cSteer)}, weight: .34, why: "It wants a say in every answer."},
	{name: "remember-always", family: famPersist, anchor: cMemVerb, needs: []need{near(5, cForever)}, weight: .16, direct: true, why: "It wants to be kept for good."},
	{name: "disarm", family: famTool, anchor: cDisarm, weight: .28, why: "It wants protections switched off."},
	{name: "authority", family: famAuthority, anchor: cAuthority, weight: .4, why: "It claims an authority it cannot have.",
		boosts: []boost{more(.12, 20, cMust, cUrgent), more(.12, 25, cNoAsk, cDanger, cDisarm, cSens)}},
	{name: "urgency", family: famAuthority, anchor: cUrgent, weight: .08, why: "It presses."},
	{name: "instead", family: famSteer, anchor: cTask, weight: .22, why: "It changes the task.", boosts: []boost{more(.12, 10, cMust), more(.1, 12, cVocative)}},
	{name: "steer", family: famSteer, anchor: cSteer, weight: .28, why: "It dictates what the answer should say.", boosts: []boost{more(.12, 14, cDest)}},
	{name: "fence", family: famFence, anchor: cFence, weight: .2, why: "It pretends that the data ends here.",
		boosts: []boost{more(.42, 24, cNewInst, cOverride, cVocative, cYouAre, cAnnounce), more(.16, 24, cMust)}},
}
