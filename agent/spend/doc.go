// Package spend keeps model calls within what the person allows them to cost.
//
// Every request to a model goes through a Book, fallbacks, retries and embeddings each for themselves: it is reserved
// at the most it may cost, made, and settled at what it did cost. Reserving and looking at what is spent is one transaction of the
// Store, so calls that race cannot pass a cap together; the reservation is durable before the request leaves, so that a process that
// is killed in between counts it in full.
//
// What holds:
//   - No request leaves while its estimate passes a cap. Near a cap the answer's limit of tokens is shrunk to what is left, down
//     to a floor; below it the call is refused (CodeExhausted, NeedMoney) and nothing is sent.
//   - An open reservation counts like money spent.
//   - A model whose price is not known costs the assumed price of the settings; a local one costs nothing and is only counted.
//   - A day is a day of the person's time zone, and belongs to the instant at which a call began.
//
// The package imports agent alone. Estimates of tokens, and what an error of a provider says about its bill, are given to it.
package spend
