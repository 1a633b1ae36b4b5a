import { isLockTimeout } from "./postgres/faults.ts";

/** Leaves the connection to others; the statement waits for a while before it finds a lock. */
const pauseMs = 1000;

/**
 * Repeats what fails at a lock of another session until that is gone: for what must not be lost, and
 * would cost more to begin again. `noteLocked` is called once.
 */
export async function whenUnlocked<T>(
  act: () => Promise<T>,
  noteLocked: () => void = () => {},
): Promise<T> {
  for (let isFirst = true;; isFirst = false) {
    try {
      return await act();
    } catch (thrown) {
      if (!isLockTimeout(thrown)) throw thrown;
      if (isFirst) noteLocked();
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
