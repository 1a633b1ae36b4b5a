import type http from "node:http";
import net from "node:net";
import type { Clock } from "../base/clock.ts";
import { backlog } from "./accept_turn.ts";
import type { AcceptProbe, AcceptTarget } from "./accept_watch.ts";
import type { Connections } from "./connections.ts";

/** A knock that waits longer than this was not accepted. */
const stuckAfterMs = 500;
/** How often a knock is checked for having been accepted. */
const pollMs = 20;
/**
 * How many further knocks each check makes. If processes share a port, the system gives each
 * connection to any of them, so we knock often enough for one to reach this process: with two
 * processes that fails once in some ten million times.
 */
const connectsPerPoll = (sharers: number) => sharers === 1 ? 0 : Math.ceil(sharers / 2);
/**
 * If the timer's turns take more than this many times as long as they should, the process is busy.
 */
const busyTimes = 2;

/** Where a server listens, and how many processes share the port. */
export interface PortPlace {
  readonly port: number;
  readonly host: string;
  readonly sharers?: number;
}

/** Makes the target of an `AcceptWatch`, which knocks at a server's port and reopens it. */
export function acceptTargetOf(
  server: http.Server,
  connections: Pick<Connections, "accepted" | "most" | "shrink" | "size">,
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
      // No knock is needed if callers have connected meanwhile.
      const result = connections.accepted > seen
        ? "taken"
        : await knock(connections, at, { leaving, clock });
      seen = connections.accepted;
      return result;
    },
    leave: () => void leaving.dispatchEvent(new Event("leave")),
    reopen: () => reopen(server, at),
  };
}

/**
 * Connects to the port, and waits until the listener has accepted a connection, ours or another
 * one. That we are connected proves little: the kernel connects us even if the listener accepts
 * nobody.
 */
function knock(
  connections: Pick<Connections, "accepted">,
  { port, host, sharers = 1 }: PortPlace,
  { leaving, clock }: { leaving: EventTarget; clock: Pick<Clock, "monotonicMs"> },
): Promise<AcceptProbe> {
  const before = connections.accepted;
  return new Promise((resolve) => {
    const sockets: net.Socket[] = [];
    const open = ([address, ...others] = reachable(host)) => {
      const socket = net.connect(port, address);
      sockets.push(socket);
      socket.on("error", (thrown: Error & { code?: string }) => {
        if (/^E(MFILE|NFILE)$/.test(thrown.code ?? "")) end("no_descriptor");
        else if (others.length > 0) open(others);
        else end("failed");
      });
    };
    let waitedMs = 0;
    const beganMs = clock.monotonicMs();
    const timer = setInterval(() => {
      waitedMs += pollMs;
      // Counts turns of the timer, so that after a long pause of this process waiting callers are
      // accepted before the knock is given up.
      if (connections.accepted > before) end("taken");
      else if (waitedMs >= stuckAfterMs) {
        end(clock.monotonicMs() - beganMs > busyTimes * stuckAfterMs ? "too_busy" : "not_taken");
      } else for (let more = connectsPerPoll(sharers); more > 0; more--) open();
    }, pollMs);
    const end = (result: AcceptProbe) => {
      clearInterval(timer);
      leaving.removeEventListener("leave", left);
      for (const socket of sockets) socket.destroy();
      resolve(result);
    };
    const left = () => end("failed");
    leaving.addEventListener("leave", left);
    open();
  });
}

/**
 * Closes the port and opens it again, without the server's own `close`, which would end idle
 * connections.
 */
function reopen(server: http.Server, at: PortPlace): Promise<void> {
  if (server.listening) net.Server.prototype.close.call(server);
  return listen(server, at);
}

/** Opens the port. Rejects with the system's error if it can't be opened. */
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

/** The addresses of this machine at which a listener on `host` may be reached, the likelier first. */
function reachable(host: string): string[] {
  if (host === "0.0.0.0") return ["127.0.0.1"];
  // With IPv6 turned off, `::` is still opened, and IPv4 reaches it.
  return host === "::" ? ["::1", "127.0.0.1"] : [host];
}
