/** What the page asks of a browser and jsdom does not have, as small as it can be. */

/** The width of the window that media queries see, in rem. */
let width = 120;

class Query extends EventTarget {
  readonly media: string;

  constructor(media: string) {
    super();
    this.media = media;
  }

  get matches(): boolean {
    const least = /min-width: (\d+)rem/.exec(this.media)?.[1];
    return least !== undefined && width >= Number(least);
  }
}

const queries: Query[] = [];

globalThis.matchMedia = (media: string) => {
  const query = new Query(media);
  queries.push(query);
  return query as unknown as MediaQueryList;
};

/** Makes the window as wide as `rem`. */
export function resize(rem: number): void {
  width = rem;
  for (const query of queries) query.dispatchEvent(new Event('change'));
}

globalThis.ResizeObserver = class {
  observe(): void {
    // Nothing has a size here.
  }
  unobserve(): void {
    // See above.
  }
  disconnect(): void {
    // See above.
  }
};

HTMLDialogElement.prototype.showModal = function () {
  this.setAttribute('open', '');
};

HTMLDialogElement.prototype.close = function () {
  if (!this.hasAttribute('open')) return;
  this.removeAttribute('open');
  this.dispatchEvent(new Event('close'));
};
