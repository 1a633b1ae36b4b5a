/**
 * Wraps an object so that every method first calls `before` with its name, which may throw; `wraps`
 * can replace the results of methods.
 */
export function faulty<T extends object>(
  target: T,
  before: (method: string) => void,
  wraps: { readonly [Method in keyof T]?: (result: never) => unknown } = {},
): T {
  return new Proxy(target, {
    get(_target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (...given: unknown[]) => {
        before(String(name));
        const result: unknown = value.apply(target, given);
        const wrap = wraps[name as keyof T] as ((result: unknown) => unknown) | undefined;
        return wrap ? wrap(result) : result;
      };
    },
  });
}
