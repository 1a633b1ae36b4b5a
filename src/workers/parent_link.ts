import { Channel, type Question, type WorkerNotice } from "./channel.ts";

/** Which worker this process is; 1 of 1 without `WORKERS`. */
export interface WorkerSeat {
  readonly index: number;
  /** How many there are. */
  readonly count: number;
}

/** The only process on its data directory. */
export const onlySeat: WorkerSeat = { index: 1, count: 1 };

/** What a worker asks of the other workers of its program. */
export interface Siblings {
  /** Their answers; one that ends meanwhile is left out. Rejects if one can't do it. */
  ask(question: Exclude<Question, "metrics">): Promise<unknown[]>;
  /** The metrics of all workers as one text; undefined without others. */
  readonly metrics: (() => Promise<string>) | undefined;
}

export const noSiblings: Siblings = { ask: () => Promise.resolve([]), metrics: undefined };

export interface ParentLink extends Siblings {
  tell(notice: WorkerNotice): void;
  /** Says what answers questions from now on; those that came earlier wait for it. */
  answers(answer: (question: Question) => Promise<unknown>): void;
}

/** The part of Node's `process` that a process with a channel has. */
interface ChannelProcess {
  readonly send?: ((message: unknown) => unknown) | undefined;
  on(event: string, listener: (message: unknown) => void): unknown;
}

/**
 * Opens the channel to the parent. `stop` is called when it says so, and when it is gone: nobody
 * would start this worker again. Throws an Error in a process that has none.
 */
export function openParentLink(
  { stop, reload }: { stop(): void; reload(): void },
  own: ChannelProcess,
): ParentLink {
  if (own.send === undefined) {
    throw new Error("DEMETER_WORKER is for the program itself: leave it out, and set WORKERS.");
  }
  const answering = Promise.withResolvers<(question: Question) => Promise<unknown>>();
  const channel = new Channel({
    send: (message) => void own.send?.(message),
    onNotice: ({ kind }) => {
      if (kind === "stop") stop();
      if (kind === "reload") reload();
    },
    answer: async (question) => await (await answering.promise)(question),
  });
  own.on("message", (message: unknown) => channel.take(message));
  own.on("disconnect", () => {
    channel.close();
    stop();
  });
  // So the parent notices a start that freezes. A worker that is ready reports when its port is knocked.
  const alive = () => channel.tell({ kind: "alive" });
  alive();
  const starting = setInterval(alive, 1_000);
  return {
    tell(notice) {
      if (notice.kind === "ready") clearInterval(starting);
      channel.tell(notice);
    },
    answers: answering.resolve,
    ask: async (question) => await channel.ask(question) as unknown[],
    metrics: async () => String(await channel.ask("metrics")),
  };
}
