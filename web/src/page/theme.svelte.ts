/** Light, dark, or as the system has it; remembered in this browser. */

export type Theme = 'system' | 'light' | 'dark';

const name = 'toolweave theme';

class ThemeChoice {
  current: Theme = $state('system');

  /** Takes what was chosen before. */
  restore(): void {
    try {
      const stored = localStorage.getItem(name);
      this.#show(stored === 'light' || stored === 'dark' ? stored : 'system');
    } catch {
      // A browser that forbids storage has the theme of its system.
    }
  }

  /** Goes on to the next of the three. */
  next(): void {
    const order: Theme[] = ['system', 'light', 'dark'];
    this.#show(order[(order.indexOf(this.current) + 1) % order.length] ?? 'system');
    try {
      localStorage.setItem(name, this.current);
    } catch {
      // See above.
    }
  }

  #show(theme: Theme): void {
    this.current = theme;
    if (theme === 'system') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
  }
}

export const theme = new ThemeChoice();
