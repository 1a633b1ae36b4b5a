import {
  Channel,
  type ChannelDeps,
  type Question,
  type QuestionTerms,
  type WorkerNotice,
} from "./channel.ts";

/** Which worker this process is; 1 of 1 without `WORKERS`. */
export interface WorkerSeat {
  readonly index: number;
  /** How many there are. */
  readonly count: number;
}

/** For the only process on its data directory. */
export const onlySeat: WorkerSeat = { index: 1, count: 1 };

/** The other workers of the program, which a worker can ask. */
export interface Siblings {
  /**
   * Returns the answers of all others; a worker that ends meanwhile is left out. Rejects if one of
   * them fails.
   */
  ask(question: Exclude<Question, "metrics">, terms?: QuestionTerms): Promise<unknown[]>;
  /** The metrics of all workers as one text; undefined without others. */
  readonly metrics: (() => Promise<string>) | undefined;
}

export const noSiblings: Siblings = { ask: () => Promise.resolve([]), metrics: undefined };

export interface ParentLink extends Siblings {
  send(notice: WorkerNotice): void;
  /** Sets the function that answers questions; those that came earlier wait for it. */
  answers(answer: ChannelDeps["answer"]): void;
}

/** The part of Node's `process` that a process with a channel has. */
interface ChannelProcess {
  readonly send?:
    | ((message: unknown, sent: (failure?: Error | null) => void) => unknown)
    | undefined;
  on(event: string, listener: (message: unknown) => void): unknown;
}

/**
 * Opens the channel to the parent. `stop` is called when the parent says so, and when the parent is
 * gone, since nobody would restart this worker. Throws an Error in a process without a channel.
 */
export function openParentLink(
  { stop, reload }: { stop(): void; reload(): void },
  own: ChannelProcess,
): ParentLink {
  if (own.send === undefined) {
    throw new Error("DEMETER_WORKER is for the program itself: leave it out, and set WORKERS.");
  }
  const answering = Promise.withResolvers<ChannelDeps["answer"]>();
  const gone = () => {
    channel.close();
    stop();
  };
  const channel = new Channel({
    // Without a callback a message that can no longer be sent would end the process. And where the
    // parent was killed before it had read everything, the runtime doesn't report a disconnect.
    send: (message) =>
      void own.send?.(message, (failure) => {
        if (failure) gone();
      }),
    onNotice: ({ kind }) => {
      if (kind === "stop") stop();
      if (kind === "reload") reload();
    },
    answer: async (...asked) => await (await answering.promise)(...asked),
  });
  own.on("message", (message: unknown) => channel.take(message));
  own.on("disconnect", gone);
  // So that the parent notices a start that freezes. Once it's ready, a worker reports whenever its
  // port is found to accept connections.
  const alive = () => channel.send({ kind: "alive" });
  alive();
  const starting = setInterval(alive, 1_000);
  return {
    send(notice) {
      if (notice.kind === "ready") clearInterval(starting);
      channel.send(notice);
    },
    answers: answering.resolve,
    ask: async (...asked) => await channel.ask(...asked) as unknown[],
    metrics: async () => String(await channel.ask("metrics")),
  };
}
