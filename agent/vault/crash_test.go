package vault_test

func child(string) int { return 2 }
