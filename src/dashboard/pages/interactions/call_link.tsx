import type { Child } from "hono/jsx";
import { entries } from "../../navigation.tsx";

const address = "/dashboard/interactions";

/** What stands for a stored call: the way to its page, where the dashboard has such pages. */
export function CallLink({ id, children }: { id: string; children?: Child }) {
  const sections: readonly { href: string }[] = entries;
  if (!sections.some(({ href }) => href === address)) return <>{children}</>;
  return <a href={`${address}/${encodeURIComponent(id)}`}>{children}</a>;
}
