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
/** Turns of the timer that take so many times what they should say that the process is busy. */
const busyTimes = 2;

/** A server's port, as the watch knocks at it and opens it anew. */
export function acceptTargetOf(
  server: http.Server,
  connections: Connections,
  at: { readonly port: number; readonly host: string },
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
        : await knock(connections, { port: at.port, host: reachable(at.host) }, { leaving, clock });
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
  at: { port: number; host: string },
  { leaving, clock }: { leaving: EventTarget; clock: Pick<Clock, "monotonicMs"> },
): Promise<AcceptProbe> {
  const before = connections.accepted;
  return new Promise((resolve) => {
    const socket = net.connect(at.port, at.host);
    let waitedMs = 0;
    const beganMs = clock.monotonicMs();
    const looking = setInterval(() => {
      waitedMs += lookMs;
      // By turns of the timer: after a long pause of this process callers come first.
      if (connections.accepted > before) end("taken");
      else if (waitedMs >= stuckAfterMs) {
        end(clock.monotonicMs() - beganMs > busyTimes * stuckAfterMs ? "too_busy" : "not_taken");
      }
    }, lookMs);
    const end = (result: AcceptProbe) => {
      clearInterval(looking);
      leaving.removeEventListener("leave", left);
      socket.destroy();
      resolve(result);
    };
    const left = () => end("failed");
    leaving.addEventListener("leave", left);
    socket.on("error", (thrown: Error & { code?: string }) => {
      end(/^E(MFILE|NFILE)$/.test(thrown.code ?? "") ? "no_descriptor" : "failed");
    });
  });
}

/** Opens the port anew, without the server's own `close`: that would end connections that wait. */
function reopen(server: http.Server, at: { port: number; host: string }): Promise<void> {
  if (server.listening) net.Server.prototype.close.call(server);
  return listen(server, at);
}

/** Rejects with the system's error when the port can't be opened. */
export function listen(
  server: net.Server,
  at: { readonly port: number; readonly host: string },
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
    server.listen({ port: at.port, host: at.host, backlog });
  });
}

/** The address of this machine at which a listener on `host` is reached. */
function reachable(host: string): string {
  if (host === "0.0.0.0") return "127.0.0.1";
  return host === "::" ? "::1" : host;
}
