import { createServer } from "node:http";

/**
 * A vendor of the chat dialect that answers at once: whole, or as a stream of 200 chunks. It is a
 * program of its own, so that it doesn't share a thread with the measured one. Prints its port.
 */
const usage = { prompt_tokens: 10, completion_tokens: 200, total_tokens: 210 };
const whole = JSON.stringify({
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1,
  model: "gpt-4.1",
  choices: [{
    index: 0,
    message: { role: "assistant", content: "word ".repeat(200) },
    finish_reason: "stop",
  }],
  usage,
});
const chunk = (fields: object) =>
  `data: ${
    JSON.stringify({
      id: "chatcmpl-1",
      object: "chat.completion.chunk",
      created: 1,
      model: "gpt-4.1",
      ...fields,
    })
  }\n\n`;
const words = chunk({ choices: [{ index: 0, delta: { content: "word " }, finish_reason: null }] });
const ending = chunk({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }) +
  chunk({ choices: [], usage }) + "data: [DONE]\n\n";

const server = createServer((request, response) => {
  // Long bodies have it at their beginning, so only the first bytes of each piece are searched.
  let isStreamed = false;
  request.on("data", (piece) => {
    isStreamed ||= piece.subarray(0, 4096).includes('"stream":true');
  });
  request.on("end", () => {
    // Like a server with one endpoint: after a single 404 the gateway translates all calls for it.
    if (!request.url?.endsWith("/chat/completions")) {
      response.writeHead(404, { "content-type": "application/json" });
      response.end('{"error":{"message":"no such endpoint"}}');
      return;
    }
    if (!isStreamed) {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(whole);
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    let left = 200;
    // One chunk per turn of the event loop, so that each leaves as a packet, like a model's words.
    const next = () => {
      if (left-- === 0) {
        response.end(ending);
        return;
      }
      response.write(words);
      setImmediate(next);
    };
    next();
  });
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  console.log(typeof address === "object" ? address?.port : address);
});
