/** The dashboard's first page. */
export const home = "/dashboard/overview";

/**
 * Returns the page to show after sign-in: the wanted one if it is a path of the dashboard, and the
 * first page otherwise, so that no link can send people to another site.
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
