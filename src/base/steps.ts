/** Work in steps; between them the event loop can run other work. */
export type Steps<T> = Generator<void, T, void>;

/** Runs all steps at once. */
export function finish<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/** Default number of elements per step; one may take milliseconds. */
const stride = 16;

/** `map` in steps of `each` elements. */
export function* mapInSteps<A, B>(
  list: readonly A[],
  make: (one: A, index: number) => B,
  each: number = stride,
): Steps<B[]> {
  const made: B[] = [];
  for (let index = 0; index < list.length; index++) {
    made.push(make(list[index]!, index));
    if ((index + 1) % each === 0) yield;
  }
  return made;
}

/** `flatMap` in steps of `each` elements. */
export function* flatMapInSteps<A, B>(
  list: readonly A[],
  make: (one: A, index: number) => readonly B[],
  each: number = stride,
): Steps<B[]> {
  const made: B[] = [];
  for (let index = 0; index < list.length; index++) {
    for (const one of make(list[index]!, index)) made.push(one);
    if ((index + 1) % each === 0) yield;
  }
  return made;
}

/** `forEach` in steps of `stride` elements. */
export function* forEachInSteps<A>(
  list: readonly A[],
  act: (one: A, index: number) => void,
): Steps<void> {
  for (let index = 0; index < list.length; index++) {
    act(list[index]!, index);
    if ((index + 1) % stride === 0) yield;
  }
}

/** UTF-16 units per step. */
const pieceUnits = 256 * 1024;

/** `includes` in steps, for a short `mark`. */
export function* includesInSteps(text: string, mark: string): Steps<boolean> {
  for (let at = 0; at < text.length; at += pieceUnits) {
    if (at > 0) yield;
    // The mark may begin in this piece and end in the next.
    if (text.slice(at, at + pieceUnits + mark.length - 1).includes(mark)) return true;
  }
  return false;
}
