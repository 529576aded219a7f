// The pages of one record, as tabs that are addresses (partials/tabs.eta).

/** A page of the record. */
export interface Tab {
  readonly href: string;
  readonly label: string;
  readonly isCurrent: boolean;
}

/** Makes the tabs; a page is named by its path behind that of the record. */
export function tabsOf(
  here: string,
  pages: readonly (readonly [path: string, label: string])[],
  current: string,
): Tab[] {
  return pages.map(([path, label]) => ({
    href: here + path,
    label,
    isCurrent: path === current,
  }));
}
