import { request } from "node:http";

/** Asks `/livez` five times a second, each time on a connection of its own; prints milliseconds. */
const [baseUrl] = Deno.args;
setInterval(() => {
  const began = performance.now();
  const call = request(`${baseUrl}/livez`, { agent: false }, (answer) => {
    answer.on("data", () => {});
    answer.on("end", () => console.log((performance.now() - began).toFixed(0)));
  });
  call.on("error", () => console.log("Infinity"));
  call.end();
}, 200);
