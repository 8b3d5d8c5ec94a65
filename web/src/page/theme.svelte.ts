/** The theme: light, dark or the system's. The choice is stored in the browser. */

export type Theme = 'system' | 'light' | 'dark';

const name = 'toolweave theme';

class ThemeChoice {
  current: Theme = $state('system');

  /** Apply the stored choice. */
  restore(): void {
    try {
      const stored = localStorage.getItem(name);
      this.#show(stored === 'light' || stored === 'dark' ? stored : 'system');
    } catch {
      // Without access to storage, the system's theme applies.
    }
  }

  /** Switch to the next theme: system, light, dark. */
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
