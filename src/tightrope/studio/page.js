// The page shows the state in its own address, so that a copied address is a shared state.
window.showState = (state) => {
  const url = new URL(window.location);
  if (state) url.searchParams.set('state', state); else url.searchParams.delete('state');
  window.history.replaceState(window.history.state, '', url);
};
// Browsers change their own tabs with Alt and a digit; here it changes the panel.
document.addEventListener('keydown', (event) => {
  if (event.altKey && /^(Digit[1-6]|KeyC)$/.test(event.code)) event.preventDefault();
  // A button with the focus would take the key for a click on itself.
  if (event.ctrlKey && event.key === 'Enter') {
    event.preventDefault();
    event.stopPropagation();
    emitEvent('design');
  }
}, true);
// A plot that is hidden cannot be resized; Plotly says so as an error, and draws it when shown.
window.addEventListener('unhandledrejection', (event) => {
  const words = String(event.reason?.message ?? event.reason);
  if (/displayed plot div/.test(words)) event.preventDefault();
});
