/// A step of a shopper: one request of the app.
package enum Step: String, Sendable, CaseIterable {
    /// The list of brands, the first step of a visit.
    case brands
    /// A brand's products.
    case browse
    /// A search by a word.
    case search
    /// One product.
    case product
    /// Marks a product as a favourite; only for customers with an account.
    case favourite
    /// Creates an anonymous user, before the first step that needs one.
    case enter
    /// Adds a product to the bag.
    case bag
    /// Pays the bag.
    case checkout
    /// The list of placed orders.
    case history

    /// The steps that have a share in a mix; the others follow automatically.
    package static let chosen: [Step] = [.browse, .search, .product, .favourite, .bag, .checkout, .history]
}
