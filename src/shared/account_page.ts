/** Where a page of a list by account and name begins. */
export interface AccountPlace {
  readonly accountId: number;
  readonly name: string;
}

/** A page of a list by account and name; default: all of it. */
export interface AccountPage {
  /** The last row of the page before. */
  readonly after?: AccountPlace | undefined;
  readonly limit?: number;
}
