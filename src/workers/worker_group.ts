import type { Clock } from "../base/clock.ts";
import { type SetTimer, within } from "../base/deadline.ts";
import type { Log } from "../base/log.ts";
import type { MetricSnapshot } from "../shared/metrics.ts";
import {
  Channel,
  type Message,
  type Question,
  type QuestionTerms,
  type WorkerNotice,
} from "./channel.ts";
import { MetricSums } from "./metric_sums.ts";
import { RestartPauses } from "./restart_pauses.ts";

/** How a process ended. */
export interface ExitStatus {
  code: number | null;
  signal: string | null;
}

export interface WorkerProcess {
  readonly pid: number;
  /** Throws if it is gone. */
  send(message: Message): void;
  /** Ends the process at once, by SIGKILL. */
  kill(): void;
}

/** What a worker's process reports; `ended` comes once, last. */
export interface WorkerEvents {
  message(message: unknown): void;
  ended(how: ExitStatus): void;
}

export interface WorkerGroupDeps {
  count: number;
  /**
   * Starts the process of worker `index`. `isFirst`: it greets the person who started the program.
   */
  spawn(index: number, greets: boolean, events: WorkerEvents): WorkerProcess;
  /** The metrics of the parent itself. */
  ownMetrics: (state: { running: number; restarts: number }) => Promise<MetricSnapshot[]>;
  clock: Pick<Clock, "monotonicMs">;
  log: Log;
  setTimer: SetTimer;
  /** Called every few seconds while the parent itself is alive. */
  beat(): void;
}

type Ready = Extract<WorkerNotice, { kind: "ready" }>;

/** A worker's place, which its successors take over. */
interface Seat {
  readonly index: number;
  readonly pauses: RestartPauses;
  running: Running | undefined;
  cancelRestart: (() => void) | undefined;
}

interface Running {
  readonly process: WorkerProcess;
  readonly channel: Channel;
  /** Greets the person who started the program, once it is ready. */
  readonly greets: boolean;
  /** Also its successor's, where a signal ends it before it is ready. */
  readonly ready: PromiseWithResolvers<Ready>;
  readonly ended: PromiseWithResolvers<ExitStatus>;
  readonly beganMs: number;
  isReady: boolean;
  /** Undefined before the first message: loading the program may take as long as it needs. */
  lastMessageMs: number | undefined;
}

/** How long metrics wait for a busy worker; after that its last known ones are used. */
const metricsWaitMs = 2_000;
const checkEveryMs = 5_000;
/**
 * Same as `WatchdogSec` in the systemd unit. Calls get as long when the service stops, so that a
 * stop ends within the unit's 60 s.
 */
const silenceMs = 30_000;

/** The workers of one program: starts them, starts again those that end, and stops them. */
export class WorkerGroup {
  readonly #deps: WorkerGroupDeps;
  readonly #seats: readonly Seat[];
  readonly #sums = new MetricSums();
  #isStarted = false;
  #isStopping = false;
  #restarts = 0;
  #cancelCheck: (() => void) | undefined;

  constructor(deps: WorkerGroupDeps) {
    this.#deps = deps;
    this.#seats = Array.from({ length: deps.count }, (_, at) => ({
      index: at + 1,
      pauses: new RestartPauses(),
      running: undefined,
      cancelRestart: undefined,
    }));
  }

  /**
   * Starts worker 1, which migrates the database and creates what all workers need, then the
   * others. Resolves with the address when all answer calls. Rejects with an Error if one fails, or
   * the group is stopped, before that; one that a signal ends is started again.
   */
  async start(): Promise<string> {
    this.#superviseAll();
    const [first, ...others] = this.#seats;
    const readyIn = async (seat: Seat) => {
      const ready = await this.#spawn(seat, seat === first).ready.promise;
      if (this.#isStopping) throw new Error("the workers are stopped");
      return ready;
    };
    const { address } = await readyIn(first!);
    await Promise.all(others.map(readyIn));
    const lost = this.#seats.find(({ running, cancelRestart }) => !running && !cancelRestart);
    if (lost) throw new Error(`worker ${lost.index} ended while the others started`);
    this.#isStarted = true;
    return address;
  }

  /**
   * Makes all workers end as on SIGTERM, and kills those that fall silent meanwhile. Resolves with
   * whether all ended cleanly.
   */
  async stop(): Promise<boolean> {
    this.#isStopping = true;
    const running = this.#running();
    for (const seat of this.#seats) seat.cancelRestart?.();
    for (const one of running) {
      one.lastMessageMs = this.#deps.clock.monotonicMs();
      one.channel.send({ kind: "stop" });
    }
    const statuses = await Promise.all(running.map(({ ended }) => ended.promise));
    this.#cancelCheck?.();
    return statuses.every(({ code }) => code === 0);
  }

  /** Makes all workers reload what SIGHUP reloads. */
  reload(): void {
    for (const { channel } of this.#running()) channel.send({ kind: "reload" });
  }

  abort(): void {
    this.#isStopping = true;
    this.#cancelCheck?.();
    for (const seat of this.#seats) seat.cancelRestart?.();
    for (const { process } of this.#running()) process.kill();
  }

  #running(): Running[] {
    return this.#seats.flatMap(({ running }) => running ?? []);
  }

  #spawn(seat: Seat, greets: boolean, ready = Promise.withResolvers<Ready>()): Running {
    const { clock } = this.#deps;
    const channel = new Channel({
      send: (message) => process.send(message),
      onNotice: (notice) => takeNotice(running, notice, clock.monotonicMs()),
      answer: (...asked) => this.#answer(seat, ...asked),
    });
    const process = this.#deps.spawn(seat.index, greets, {
      message: (message) => channel.take(message),
      ended: (how) => this.#ended(seat, running, how),
    });
    const beganMs = clock.monotonicMs();
    const running: Running = {
      ...{ process, channel, greets, ready, beganMs, lastMessageMs: undefined, isReady: false },
      ended: Promise.withResolvers<ExitStatus>(),
    };
    running.ready.promise.catch(() => {});
    seat.running = running;
    return running;
  }

  #ended(seat: Seat, running: Running, how: ExitStatus): void {
    seat.running = undefined;
    running.channel.close();
    this.#sums.ended(seat.index);
    running.ended.resolve(how);
    // One that can't start ends with a code, and would again.
    const hasFailed = !this.#isStarted && how.code !== 0 && how.signal === null;
    if (this.#isStopping || hasFailed) {
      running.ready.reject(new Error(`worker ${seat.index} ended before it was ready`));
    } else this.#restart(seat, running, how);
  }

  #restart(seat: Seat, ended: Running, { code, signal }: ExitStatus): void {
    const { clock, log, setTimer } = this.#deps;
    const inMs = seat.pauses.after(clock.monotonicMs() - ended.beganMs);
    log.warn("a worker ended; restarting it", {
      ...{ worker: seat.index, pid: ended.process.pid, code, signal, in_ms: inMs },
    });
    const cancel = setTimer(inMs, () => {
      seat.cancelRestart = undefined;
      this.#restarts++;
      const { process, ready } = ended.isReady
        ? this.#spawn(seat, false)
        : this.#spawn(seat, ended.greets, ended.ready);
      ready.promise.then(() => {
        if (seat.running?.process !== process) return;
        log.info("a worker is back", { worker: seat.index, pid: process.pid });
      }, () => {});
    });
    seat.cancelRestart = () => {
      cancel();
      ended.ready.reject(new Error("the workers are stopped"));
    };
  }

  /**
   * Answers a worker's question by asking all others; for metrics, all workers. One that ends
   * meanwhile is left out.
   */
  async #answer(asking: Seat, question: Question, terms: QuestionTerms): Promise<unknown> {
    if (question === "metrics") return await this.#metrics();
    const others = this.#seats.filter((seat) => seat !== asking);
    const answers = await Promise.all(others.map(async ({ running }) => {
      if (!running?.isReady) return [];
      try {
        return [await running.channel.ask(question, terms)];
      } catch (thrown) {
        // The failure of a worker is passed on to the one that asked; a worker that is gone has
        // nothing left to answer for.
        if (this.#running().includes(running)) throw thrown;
        return [];
      }
    }));
    return answers.flat();
  }

  async #metrics(): Promise<string> {
    await Promise.all(this.#seats.map(async ({ index, running }) => {
      if (!running?.isReady) return;
      const asked = running.channel.ask("metrics").catch(() => undefined);
      const found = await within(metricsWaitMs, asked, undefined, this.#deps.setTimer);
      const isStill = this.#seats[index - 1]?.running === running;
      if (found !== undefined && isStill) this.#sums.saw(index, found as MetricSnapshot[]);
    }));
    const running = this.#running().filter(({ isReady }) => isReady).length;
    return await this.#sums.text(
      await this.#deps.ownMetrics({ running, restarts: this.#restarts }),
    );
  }

  /** Kills workers whose event loop is stuck, and calls `beat`. */
  #superviseAll(): void {
    const { setTimer, clock, log } = this.#deps;
    let lastCheckMs = clock.monotonicMs();
    const check = () => {
      const nowMs = clock.monotonicMs();
      // A pause of the whole machine doesn't count as silence.
      const pausedMs = Math.max(0, nowMs - lastCheckMs - 2 * checkEveryMs);
      lastCheckMs = nowMs;
      for (const { index, running } of this.#seats) {
        if (running?.lastMessageMs === undefined) continue;
        running.lastMessageMs += pausedMs;
        if (nowMs - running.lastMessageMs < silenceMs) continue;
        log.error("a worker is silent; killing it", { worker: index });
        running.process.kill();
      }
      this.#deps.beat();
      this.#cancelCheck = setTimer(checkEveryMs, check);
    };
    this.#cancelCheck = setTimer(checkEveryMs, check);
  }
}

function takeNotice(running: Running, notice: WorkerNotice, nowMs: number): void {
  running.lastMessageMs = nowMs;
  if (notice.kind !== "ready") return;
  running.isReady = true;
  running.ready.resolve(notice);
}
