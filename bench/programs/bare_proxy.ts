import { Agent, createServer, request as open } from "node:http";

/**
 * The least that a proxy on this runtime can do: it moves bytes both ways over kept connections.
 * The gateway is compared with it. Takes the port to forward to; prints its own.
 */
const port = Number(Deno.args[0]);
const agent = new Agent({ keepAlive: true, maxSockets: 256 });
const server = createServer((request, response) => {
  const { method, url: path, headers } = request;
  const upstream = open(
    { host: "127.0.0.1", port, method, path, headers: { ...headers, host: "vendor" }, agent },
    (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    },
  );
  upstream.on("error", () => response.destroy());
  request.pipe(upstream);
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  console.log(typeof address === "object" ? address?.port : address);
});
