// Command bare is the least a Go program can do between a browser and a model
// server: it passes a request on and copies the stream back as it comes.
package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
)

func main() {
	upstream := os.Args[1]
	transport := &http.Transport{MaxIdleConnsPerHost: 256}
	pass := func(w http.ResponseWriter, r *http.Request) {
		req, err := http.NewRequestWithContext(r.Context(), r.Method, upstream+r.URL.Path, r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		resp, err := transport.RoundTrip(req)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer resp.Body.Close()
		w.Header().Set("Content-Type", resp.Header.Get("Content-Type"))
		buf := make([]byte, 32<<10)
		for {
			n, err := resp.Body.Read(buf)
			if _, writeErr := w.Write(buf[:n]); err != nil || writeErr != nil {
				return
			}
			w.(http.Flusher).Flush()
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Printf("bare is at http://%s\n", l.Addr())
	http.HandleFunc("POST /", pass)
	http.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	panic(http.Serve(l, nil))
}
