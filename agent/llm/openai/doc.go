// Package openai speaks OpenAI's chat completions, models and embeddings with
// any server that does: OpenAI itself, Gemini's compatible endpoint, Mistral,
// Groq, Cerebras, DeepSeek, xAI, OpenRouter, LM Studio, llama.cpp, vLLM.
//
// Requests go out through sashabaranov/go-openai, which knows addresses,
// headers and the vendors' variants of them. Two of its parts are replaced at the HTTP layer (see
// wire): the body of a chat request, because its types drop fields that vendors need back (Gemini's thought
// signatures, a temperature of 0), and the reading of the stream, because its reader is unbounded, drops the same fields and
// decodes a third as fast as the server sends.
package openai
