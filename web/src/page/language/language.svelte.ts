/** The language of the page: the user's choice, else the browser's. The choice is stored in the browser. */

import { de } from './de.ts';
import { en, type Texts } from './en.ts';

const languages = { en, de };

/** The code of a language that the page has. */
export type LanguageCode = keyof typeof languages;

const name = 'toolweave language';

class LanguageChoice {
  current: LanguageCode = $state('en');

  /** The languages to choose from, each with its own name. */
  readonly options = Object.entries(languages).map(([code, texts]) => ({
    code: code as LanguageCode,
    name: texts.language.name,
  }));

  /** Apply the stored choice; without one, the first of the browser's languages that the page has. */
  restore(): void {
    let stored: string | null = null;
    try {
      stored = localStorage.getItem(name);
    } catch {
      // Without access to storage, the browser's language applies.
    }
    const wanted = [stored, ...navigator.languages.map((tag) => tag.split('-')[0])];
    this.#show(wanted.find(isKnown) ?? 'en');
  }

  choose(code: LanguageCode): void {
    this.#show(code);
    try {
      localStorage.setItem(name, code);
    } catch {
      // See above.
    }
  }

  #show(code: LanguageCode): void {
    this.current = code;
    document.documentElement.lang = code;
  }
}

function isKnown(code: string | null | undefined): code is LanguageCode {
  return typeof code === 'string' && Object.hasOwn(languages, code);
}

export const language = new LanguageChoice();

/** Return the texts of the page. An effect or template that calls this follows the user's choice. */
export function texts(): Texts {
  return languages[language.current];
}
