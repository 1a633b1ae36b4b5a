import type { Clock } from "../base/clock.ts";
import { messageOf } from "../shared/fault.ts";

/** Who started this process and restarts it: systemd, where `NOTIFY_SOCKET` says so (sd_notify(3)). */
export interface Supervisor {
  /** Calls can be taken. */
  ready: () => void;
  /** The event loop turns and the port takes connections; sent at most every few seconds. */
  alive: () => void;
  /** No more calls are taken; those under way end. */
  stopping: () => void;
  close: () => void;
}

/** Less than half of the unit's `WatchdogSec`. */
const everyMs = 5_000;

/**
 * Tells the supervisor at `socket` how the service is, from a socket of our own at `from`. Does
 * nothing where there is none. A failure to send is logged once: a supervisor that waits
 * for it will restart the service, and its operator has to know why.
 */
export function openSupervisor(
  { socket, from, clock, warn }: {
    socket: string | undefined;
    from: string;
    clock: Clock;
    warn(message: string, fields: { cause: string }): void;
  },
): Supervisor {
  const silent = () => {};
  if (socket === undefined) {
    return { ready: silent, alive: silent, stopping: silent, close: silent };
  }
  let own: Deno.DatagramConn | undefined;
  let isWarned = false;
  let sentMs = -Infinity;
  let beating: ReturnType<typeof setInterval> | undefined;
  const send = async (state: string) => {
    try {
      own ??= bind(from);
      await own.send(new TextEncoder().encode(state), { transport: "unixpacket", path: socket });
    } catch (thrown) {
      if (!isWarned) warn("NOTIFY_SOCKET can't be written to", { cause: messageOf(thrown) });
      isWarned = true;
    }
  };
  const beat = () => {
    const nowMs = clock.monotonicMs();
    if (nowMs - sentMs < everyMs) return;
    sentMs = nowMs;
    void send("WATCHDOG=1");
  };
  return {
    ready: () => void send("READY=1"),
    alive: beat,
    stopping() {
      void send("STOPPING=1");
      // The port is closed, and calls may take half a minute to end.
      beating ??= setInterval(beat, everyMs);
    },
    close() {
      clearInterval(beating);
      own?.close();
      if (own !== undefined) remove(from);
    },
  };
}

/** A sender needs an address; one that a killed process left is in the way. */
function bind(path: string): Deno.DatagramConn {
  remove(path);
  return Deno.listenDatagram({ transport: "unixpacket", path });
}

function remove(path: string): void {
  try {
    Deno.removeSync(path);
  } catch {
    // It is not there.
  }
}
