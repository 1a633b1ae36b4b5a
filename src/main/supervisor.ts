import type { Clock } from "../base/clock.ts";
import { messageOf } from "../shared/fault.ts";

/** systemd, if `NOTIFY_SOCKET` is set (sd_notify(3)). */
export interface Supervisor {
  /** Reports that calls are accepted. */
  ready: () => void;
  /** Reports that event loop and port work; sent at most every few seconds. */
  alive: () => void;
  /** Reports a graceful stop. */
  stopping: () => void;
  close: () => void;
}

/** Less than half of `WatchdogSec` in the systemd unit. */
const everyMs = 5_000;

/**
 * Sends state to the supervisor's `socket`, from our own socket at `from`; does nothing without a
 * supervisor. A failure is logged once: the supervisor will restart the service, and the operator has
 * to know why.
 */
export function openSupervisor({ socket, from, clock, warn }: {
  socket: string | undefined;
  from: string;
  clock: Clock;
  warn(message: string, fields: { cause: string }): void;
}): Supervisor {
  const silent = () => {};
  if (socket === undefined) {
    return { ready: silent, alive: silent, stopping: silent, close: silent };
  }
  let own: Deno.DatagramConn | undefined;
  let isWarned = false;
  const send = async (state: string) => {
    try {
      own ??= bind(from);
      await own.send(new TextEncoder().encode(state), { transport: "unixpacket", path: socket });
    } catch (thrown) {
      if (!isWarned) warn("can't write to NOTIFY_SOCKET", { cause: messageOf(thrown) });
      isWarned = true;
    }
  };
  const heartbeat = createHeartbeat(everyMs, clock, () => void send("WATCHDOG=1"));
  return {
    ready: () => void send("READY=1"),
    alive: heartbeat.alive,
    stopping() {
      void send("STOPPING=1");
      heartbeat.stopping();
    },
    close() {
      heartbeat.close();
      own?.close();
      if (own !== undefined) remove(from);
    },
  };
}

/** Calls `beat` when `alive` is called, at most every `everyMs`; during a stop on a timer. */
export function createHeartbeat(
  everyMs: number,
  clock: Pick<Clock, "monotonicMs">,
  beat: () => void,
): Pick<Supervisor, "alive" | "stopping" | "close"> {
  let sentMs = -Infinity;
  let beating: ReturnType<typeof setInterval> | undefined;
  const alive = () => {
    const nowMs = clock.monotonicMs();
    if (nowMs - sentMs < everyMs) return;
    sentMs = nowMs;
    beat();
  };
  return {
    alive,
    // `alive` isn't called any more, and calls may take half a minute to end.
    stopping: () => void (beating ??= setInterval(alive, everyMs)),
    close: () => clearInterval(beating),
  };
}

/** Opens the sender's socket, replacing one that a killed process left. */
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
