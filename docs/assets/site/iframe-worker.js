// Search from a folder: a page opened as a file may not start workers, so the search runs in a
// hidden frame that speaks as a worker does.
(() => {
  if (location.protocol !== 'file:') return;
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement('iframe');
      this.frame.hidden = true;
      document.body.appendChild(this.frame);
      const inside = this.frame.contentWindow;
      const waiting = [];
      this.send = (data) => waiting.push(data);
      inside.postMessage = (data) => {
        const event = new MessageEvent('message', { data });
        this.dispatchEvent(event);
        this.onmessage?.(event);
      };
      // Workers load scripts in order and at once; the frame loads them one after the other.
      inside.importScripts = (...urls) => urls.reduce(
        (before, next) => before.then(() => load(inside, next)), Promise.resolve());
      load(inside, url).then(() => {
        this.send = (data) => inside.dispatchEvent(new MessageEvent('message', { data }));
        waiting.splice(0).forEach(this.send);
      });
    }
    postMessage(data) { this.send(data); }
    terminate() { this.frame.remove(); }
  };
  function load(inside, url) {
    return new Promise((done, failed) => {
      const script = inside.document.createElement('script');
      script.src = url;
      script.onload = done;
      script.onerror = failed;
      inside.document.body.appendChild(script);
    });
  }
})();
