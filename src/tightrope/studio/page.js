// The page shows the state in its own address, so that a copied address is a shared state.
window.showState = (state) => {
  const url = new URL(window.location);
  if (state) url.searchParams.set('state', state); else url.searchParams.delete('state');
  window.history.replaceState(window.history.state, '', url);
};
// So is the panel: a reload stays on it, and the browser's buttons go back and forth.
window.showPanel = (name) => {
  const here = window.location.hash.slice(1) || 'table';
  if (here === name) return;
  const url = new URL(window.location);
  url.hash = name;
  window.history.pushState(window.history.state, '', url);
};
window.tellPanel = () => emitEvent('went', window.location.hash.slice(1) || 'table');
window.addEventListener('popstate', () => tellPanel());
document.documentElement.lang = 'en';
// The keys of the page; no other key leaves the browser.
document.addEventListener('keydown', (event) => {
  const key = event.key.toLowerCase();
  const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName);
  if (event.altKey && /^(Digit[1-6]|KeyC)$/.test(event.code)) {
    // Browsers change their own tabs with Alt and a digit; here it changes the panel.
    event.preventDefault();
    if (event.repeat) return;
    if (event.code === 'KeyC') emitEvent('takeaway'); else emitEvent('panel', event.code.at(-1));
  } else if (event.ctrlKey && key === 'enter') {
    // A button with the focus would take the key for a click on itself.
    event.preventDefault();
    event.stopPropagation();
    emitEvent('design');
  } else if (event.ctrlKey && !typing && (key === 'y' || key === 'z')) {
    // Inside a text field both keep their usual meaning.
    emitEvent(key === 'y' || event.shiftKey ? 'redo' : 'undo');
  }
}, true);
// A plot that is hidden cannot be resized; Plotly says so as an error, and draws it when shown.
window.addEventListener('unhandledrejection', (event) => {
  const words = String(event.reason?.message ?? event.reason);
  if (/displayed plot div/.test(words)) event.preventDefault();
});
// Whoever comes back to this tab sees the ledger as it is now.
document.addEventListener('visibilitychange', () => {
  if (document.visibilityState === 'visible') emitEvent('seen');
});
