/** Work in steps, between which whoever drives it may do something else. */
export type Steps<T> = Generator<void, T, void>;

/** Does all the steps at once. */
export function finish<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/** So many small things are done in one step. */
const stride = 512;

/** `map` in steps of so many elements. */
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

/** `flatMap` in the same steps. */
export function* flatMapInSteps<A, B>(
  list: readonly A[],
  make: (one: A, index: number) => readonly B[],
): Steps<B[]> {
  const made: B[] = [];
  for (let index = 0; index < list.length; index++) {
    for (const one of make(list[index]!, index)) made.push(one);
    if ((index + 1) % stride === 0) yield;
  }
  return made;
}
