import { pushAll } from "./lists.ts";

/** Reads a list to its end, page by page, each from the last row of the one before. */
export async function* allPages<Row>(
  read: (last: Row | undefined, limit: number) => Promise<readonly Row[]>,
  limit = 1_000,
): AsyncGenerator<readonly Row[]> {
  let last: Row | undefined;
  do {
    const rows = await read(last, limit);
    yield rows;
    last = rows.length < limit ? undefined : rows.at(-1);
  } while (last !== undefined);
}

/** The same as one list. */
export async function allRows<Row>(
  read: (last: Row | undefined, limit: number) => Promise<readonly Row[]>,
): Promise<Row[]> {
  const rows: Row[] = [];
  for await (const page of allPages(read)) pushAll(rows, page);
  return rows;
}
