// The copy button of a session copies what one types: no prompts, no results.
document.addEventListener('click', (event) => {
  const button = event.target.closest?.('[data-clipboard-target]');
  const code = button && document.querySelector(button.dataset.clipboardTarget);
  const lines = code?.innerText.split('\n') ?? [];
  const prompts = /^(>>> |\.\.\. |\$ |> )/;
  if (!lines.some((line) => /^(>>> |\$ )/.test(line))) return;
  const typed = lines.filter((line) => prompts.test(line));
  button.dataset.clipboardText = typed.map((line) => line.replace(prompts, '')).join('\n');
}, true);
// The theme makes a navigation of each copy button; a screen reader would list them all.
new MutationObserver(() => {
  for (const part of document.querySelectorAll('.md-code__nav:not([role])')) {
    part.setAttribute('role', 'none');
  }
}).observe(document.documentElement, {subtree: true, childList: true});
// A table that scrolls can have the focus: the keyboard reaches all of it.
const reach = () => {
  for (const table of document.querySelectorAll('.md-typeset table:not([class])')) {
    if (table.scrollWidth > table.clientWidth) table.setAttribute('tabindex', '0');
    else table.removeAttribute('tabindex');
  }
};
addEventListener('load', reach);
addEventListener('resize', reach);
