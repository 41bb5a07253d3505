/// A step of a shopper: one request of the app.
package enum Step: String, Sendable, CaseIterable {
    /// The list of brands, with which a visit begins.
    case brands
    /// A brand's products.
    case browse
    /// A search by a word.
    case search
    /// One product.
    case product
    /// A product becomes a favourite, of customers with an account only.
    case favourite
    /// The app makes an anonymous user, before the first step that needs one.
    case enter
    /// A product goes into the bag.
    case bag
    /// The bag is paid.
    case checkout
    /// The orders made.
    case history

    /// The steps that a mix has a share of; the others come by themselves.
    package static let chosen: [Step] = [.browse, .search, .product, .favourite, .bag, .checkout, .history]
}
