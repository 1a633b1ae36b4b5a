/**
 * The simplest proxy on this runtime: `Deno.serve`, `fetch`, and the answer's body streamed
 * through. It reads, records and charges nothing. Takes the port to forward to; prints its own.
 */
const vendor = `http://127.0.0.1:${Deno.args[0]}`;
const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
  const { pathname, search } = new URL(request.url);
  const { method, headers, body } = request;
  return fetch(vendor + pathname + search, { method, headers, body });
});
console.log(server.addr.port);
