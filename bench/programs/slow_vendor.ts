import { createServer } from "node:http";

/**
 * A vendor of the chat dialect with long streams: each second a chunk that holds its sending time,
 * for as many seconds as the first argument says. Streams start at a random part of a second.
 * Prints its port.
 */
const seconds = Number(Deno.args[0]);
const chunk = (fields: object) =>
  `data: ${
    JSON.stringify({
      id: "chatcmpl-BMx4V6gkVbQ0p8m5yqT3aW1ZcRr2o",
      object: "chat.completion.chunk",
      created: 1763800000,
      model: "gpt-4.1",
      system_fingerprint: "fp_b38e740b47",
      ...fields,
    })
  }\n\n`;
const said = (content: string) =>
  chunk({ choices: [{ index: 0, delta: { content }, logprobs: null, finish_reason: null }] });
const usage = { prompt_tokens: 10, completion_tokens: seconds, total_tokens: 10 + seconds };
const ending = chunk({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }) +
  chunk({ choices: [], usage }) + "data: [DONE]\n\n";

const server = createServer((request, response) => {
  request.resume();
  request.on("end", () => {
    // Like a server with one endpoint: after a single 404 the gateway translates all calls for it.
    if (!request.url?.endsWith("/chat/completions")) {
      response.writeHead(404, { "content-type": "application/json" });
      response.end('{"error":{"message":"no such endpoint"}}');
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(said(" words, and more"));
    let left = seconds;
    const next = () => {
      if (left-- > 0) {
        response.write(said(` sent ${Date.now()};`));
        timer = setTimeout(next, 1000);
      } else {
        response.end(ending);
      }
    };
    let timer = setTimeout(next, 1000 * Math.random());
    response.on("close", () => clearTimeout(timer));
  });
});
server.listen({ port: 0, host: "127.0.0.1", backlog: 4096 }, () => {
  const address = server.address();
  console.log(typeof address === "object" ? address?.port : address);
});
