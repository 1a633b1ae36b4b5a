import type { ApiKey } from "../keys/api_key.ts";
import type { KeyFilter } from "../keys/key_service.ts";
import type { PageContext } from "./bind.tsx";
import { type Option, SelectField, type Shown, TextField } from "./fields.tsx";

/** With more keys, a form asks for a key's id: a list of them all would be megabytes. */
const maxOffered = 200;

/** Returns the keys that a form offers to choose from; undefined if there are too many. */
export async function offeredKeys(
  { keys }: Pick<PageContext, "keys">,
  accountId: number,
  filter: Pick<KeyFilter, "isInUse"> = {},
): Promise<readonly ApiKey[] | undefined> {
  const offered = await keys.offered(accountId, { ...filter, limit: maxOffered + 1 });
  return offered.length > maxOffered ? undefined : offered;
}

/** Chooses a key, or takes its id if there are too many; `any`: the option for no choice. */
export function KeyField({ keys, any, ...field }: Shown & {
  id: string;
  label: string;
  hint?: string;
  keys: readonly ApiKey[] | undefined;
  any?: string;
}) {
  if (keys === undefined) {
    return <TextField {...field} hint={`${idHint} ${field.hint ?? ""}`.trimEnd()} />;
  }
  const options = [...(any === undefined ? [] : [["", any] as const]), ...keys.map(keyOption)];
  return <SelectField {...field} options={options} />;
}

const idHint = "A key's id, as its page shows it.";

function keyOption({ id, name, prefix }: ApiKey): Option {
  return [id, `${name} (${prefix}…)`];
}
