package web

import "ash/handlers"

// spendRoutes are what models cost, and how caps are raised.
func spendRoutes(h *handlers.Spending) []route {
	return []route{
		{get, "/settings/spending", page, h.Show},
		{get, "/settings/spending.csv", file, h.Export},
		{post, "/settings/spending/background", page, h.AllowBackground},
		{get, "/chat/:thread/messages/:message/spending", page, h.Offer},
		{post, "/chat/:thread/messages/:message/spending", page, h.Raise},
	}
}
