/** Where the dashboard begins. */
export const home = "/dashboard/overview";

/** The dashboard's path to go to after sign-in, or its beginning: no link can lead elsewhere. */
export function returnPath(wanted: string | undefined): string {
  if (wanted === undefined || !/^\/dashboard(\/[\w\-./~%]*)?(\?[\w\-./~%=&:+]*)?$/.test(wanted)) {
    return home;
  }
  const url = new URL(wanted, "http://dashboard.invalid");
  const isOurs = url.origin === "http://dashboard.invalid" &&
    /^\/dashboard(\/|$)/.test(url.pathname) && !url.pathname.includes("//");
  return isOurs ? url.pathname + url.search : home;
}
