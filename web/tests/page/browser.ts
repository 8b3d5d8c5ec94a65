/** Minimal stubs of the browser features that the page needs and jsdom lacks. */

/** Width of the window for media queries, in rem. */
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

/** Set the width of the window in rem. */
export function resize(rem: number): void {
  width = rem;
  for (const query of queries) query.dispatchEvent(new Event('change'));
}

globalThis.ResizeObserver = class {
  observe(): void {
    // Elements have no size in jsdom.
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
