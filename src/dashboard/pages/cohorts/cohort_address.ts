/** The page of a cohort; its name may hold slashes and dots, so it stands in the query. */
export function cohortAddress(
  id: string,
  more: { with?: string | undefined; span?: string | undefined } = {},
): string {
  const query = new URLSearchParams({ id });
  if (more.with !== undefined) query.set("with", more.with);
  if (more.span !== undefined) query.set("span", more.span);
  return `/dashboard/cohorts/show?${query}`;
}
