import type { Catalogue, ListedModel } from "./catalogue.ts";
import type { Vendor } from "./registry.ts";

/**
 * A vendor's models as far as they are known or come soon; undefined where it takes longer than
 * `ms` or fails. Its answer, once it is there, is remembered for who asks next.
 */
export async function withTimeout(
  catalogue: Pick<Catalogue, "models">,
  vendor: Vendor,
  ms: number,
): Promise<readonly ListedModel[] | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms);
  });
  try {
    return await Promise.race([catalogue.models(vendor).catch(() => undefined), late]);
  } finally {
    clearTimeout(timer);
  }
}
