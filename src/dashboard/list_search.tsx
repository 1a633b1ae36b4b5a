import type { PageRequest } from "./bind.tsx";
import { Empty, Field, LinkLine } from "./components.tsx";

/** Returns what a list is searched for; undefined where it is to be shown whole. */
export function searchOf(request: PageRequest): string | undefined {
  return request.query("q")?.trim().slice(0, 200) || undefined;
}

/** Returns a list's address with what it is searched for. */
export function searched(address: string, search: string | undefined): string {
  return search === undefined ? address : `${address}?${new URLSearchParams({ q: search })}`;
}

/** The form that searches a list on all its pages. */
export function ListSearch(
  { address, label, search }: { address: string; label: string; search: string | undefined },
) {
  return (
    <search>
      <form method="get" action={address} class="inline panel">
        <Field id="q" label={label}>
          <input id="q" name="q" type="search" dir="auto" autocomplete="off" value={search} />
        </Field>
        <button type="submit" class="button">Search</button>
      </form>
    </search>
  );
}

/** What is shown where a search finds nothing; `all` links to the whole list. */
export function NoneFound(
  { title, address, all }: { title: string; address: string; all: string },
) {
  return (
    <Empty title={title}>
      <LinkLine href={address}>{all}</LinkLine>
    </Empty>
  );
}
