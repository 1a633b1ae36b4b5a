import {
  ownThreads,
  type WriterThread,
  type WriterThreads,
} from "../../src/records/store/write_thread.ts";

/**
 * How long an idle thread waits for the next service's first batch. Beside other isolates on two
 * cores, several seconds pass until then.
 */
const idleMs = 30_000;

/**
 * Hands the thread of a stopped service to the next one in the process. Starting a thread and
 * compiling its code takes 0.2 s of CPU, which tests would spend hundreds of times.
 */
export function reuseWriterThreads({ start, end } = ownThreads): WriterThreads {
  let idle: { thread: WriterThread; timer: ReturnType<typeof setTimeout> } | undefined;
  const endIdle = () => {
    clearTimeout(idle?.timer);
    if (idle !== undefined) end(idle.thread);
    idle = undefined;
  };
  return {
    start() {
      if (idle === undefined || idle.thread.isDead) return start();
      const { thread, timer } = idle;
      clearTimeout(timer);
      idle = undefined;
      return thread;
    },
    end(thread) {
      endIdle();
      idle = { thread, timer: setTimeout(endIdle, idleMs) };
    },
  };
}
