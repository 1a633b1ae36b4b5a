import { readFileSync } from "node:fs";
import { connect } from "node:net";

/**
 * Requests `/livez` five times a second, each time on a new connection. Prints three times in
 * milliseconds: until the answer, until connected, and the processor time that the service's main
 * thread had meanwhile.
 */
const { hostname, port } = new URL(Deno.args[0]!);
const schedule = `/proc/${Deno.args[1]}/schedstat`;
const runMs = () => Number(readFileSync(schedule, "utf8").split(" ")[0]) / 1e6;
setInterval(() => {
  const began = performance.now();
  const beganRun = runMs();
  let isMade = 0;
  // Not the crowd's address, whose number of connections is limited.
  const socket = connect({ port: Number(port), host: hostname, localAddress: "127.0.0.3" });
  socket.on("connect", () => isMade = performance.now() - began);
  socket.on("data", () => {
    console.log(performance.now() - began, isMade, runMs() - beganRun);
    socket.destroy();
  });
  socket.on("error", () => console.log("Infinity"));
  socket.on("end", () => console.log("Infinity"));
  socket.write("GET /livez HTTP/1.1\r\nhost: bench\r\nconnection: close\r\n\r\n");
}, 200);
