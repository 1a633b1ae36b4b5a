import type http from "node:http";
import net from "node:net";
import type { Clock } from "../base/clock.ts";
import { backlog } from "./accept_turn.ts";
import type { AcceptProbe, AcceptTarget } from "./accept_watch.ts";
import type { Connections } from "./connections.ts";

/** A knock that waits longer was not heard. */
const stuckAfterMs = 500;
/** How often it is looked whether it was. */
const lookMs = 20;
/**
 * Where processes share a port the system gives each connection to any of them: so many knocks, one
 * after the other, that one of them is ours, save once in some ten million times with two.
 */
const knocksEachLook = (sharers: number) => sharers === 1 ? 0 : Math.ceil(sharers / 2);
/** Turns of the timer that take so many times what they should say that the process is busy. */
const busyTimes = 2;

/** Where a server listens, and how many processes do so there. */
export interface PortPlace {
  readonly port: number;
  readonly host: string;
  readonly sharers?: number;
}

/** A server's port, as the watch knocks at it and opens it anew. */
export function acceptTargetOf(
  server: http.Server,
  connections: Connections,
  at: PortPlace,
  clock: Pick<Clock, "monotonicMs">,
): AcceptTarget {
  let seen = connections.accepted;
  const leaving = new EventTarget();
  return {
    get size() {
      return connections.size;
    },
    keepBelow(most) {
      connections.most = Math.min(connections.most, most);
      connections.shrink();
    },
    async knock() {
      // Callers have knocked meanwhile.
      const result = connections.accepted > seen
        ? "taken"
        : await knock(connections, { ...at, host: reachable(at.host) }, { leaving, clock });
      seen = connections.accepted;
      return result;
    },
    leave: () => void leaving.dispatchEvent(new Event("leave")),
    reopen: () => reopen(server, at),
  };
}

/**
 * Connecting says little, since the system does that for a listener that takes nobody: it counts
 * whether the listener took a connection meanwhile, ours or another one.
 */
function knock(
  connections: Connections,
  { port, host, sharers = 1 }: PortPlace,
  { leaving, clock }: { leaving: EventTarget; clock: Pick<Clock, "monotonicMs"> },
): Promise<AcceptProbe> {
  const before = connections.accepted;
  return new Promise((resolve) => {
    const sockets: net.Socket[] = [];
    const open = () => {
      const socket = net.connect(port, host);
      sockets.push(socket);
      socket.on("error", (thrown: Error & { code?: string }) => {
        end(/^E(MFILE|NFILE)$/.test(thrown.code ?? "") ? "no_descriptor" : "failed");
      });
    };
    let waitedMs = 0;
    const beganMs = clock.monotonicMs();
    const looking = setInterval(() => {
      waitedMs += lookMs;
      // By turns of the timer: after a long pause of this process callers come first.
      if (connections.accepted > before) end("taken");
      else if (waitedMs >= stuckAfterMs) {
        end(clock.monotonicMs() - beganMs > busyTimes * stuckAfterMs ? "too_busy" : "not_taken");
      } else for (let more = knocksEachLook(sharers); more > 0; more--) open();
    }, lookMs);
    const end = (result: AcceptProbe) => {
      clearInterval(looking);
      leaving.removeEventListener("leave", left);
      for (const socket of sockets) socket.destroy();
      resolve(result);
    };
    const left = () => end("failed");
    leaving.addEventListener("leave", left);
    open();
  });
}

/** Opens the port anew, without the server's own `close`: that would end connections that wait. */
function reopen(server: http.Server, at: PortPlace): Promise<void> {
  if (server.listening) net.Server.prototype.close.call(server);
  return listen(server, at);
}

/** Rejects with the system's error when the port can't be opened. */
export function listen(
  server: net.Server,
  { port, host, sharers = 1 }: PortPlace,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (thrown?: Error) => {
      server.off("error", end);
      server.off("listening", end);
      if (thrown instanceof Error) reject(thrown);
      else resolve();
    };
    server.once("error", end);
    server.once("listening", end);
    server.listen({ port, host, backlog, reusePort: sharers > 1 });
  });
}

/** The address of this machine at which a listener on `host` is reached. */
function reachable(host: string): string {
  if (host === "0.0.0.0") return "127.0.0.1";
  return host === "::" ? "::1" : host;
}
