/** Where the dashboard begins. */
export const home = "/dashboard/overview";

/**
 * Where a person goes after sign-in: a path of the dashboard, or its beginning for anything else,
 * so that no link can send them elsewhere.
 */
export function returnPath(wanted: string | undefined): string {
  if (wanted === undefined || !/^\/dashboard(\/[\w\-./~%]*)?(\?[\w\-./~%=&:+]*)?$/.test(wanted)) {
    return home;
  }
  const url = new URL(wanted, "http://dashboard.invalid");
  const isOurs = url.origin === "http://dashboard.invalid" &&
    /^\/dashboard(\/|$)/.test(url.pathname) && !url.pathname.includes("//");
  return isOurs ? url.pathname + url.search : home;
}
