// What whoever starts a gateway may ask of it beside the settings. Tests that are not about packets
// do, because they start many gateways; it is no setting.

/** `off`: workers do not compile the packet path before they are ready. */
export const WARM_UP = 'POSTERN_WARM_UP';
