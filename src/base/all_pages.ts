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
