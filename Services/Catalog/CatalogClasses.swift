import Messages
import ObjectStore

extension ClassDefinition {
    /// What the shop shows to everybody: its admins and the editors of the catalog write it.
    private static let editable = ClassPermissions.adminWritten(and: [OperatorArea.catalog.role])

    /// A brand.
    static let category = ClassDefinition(
        "Category", fields: ["title": .string, "image": .file], indexes: [["title"]], permissions: editable)

    static let product = ClassDefinition(
        "Product",
        fields: [
            "name": .string, "detail": .string, "unitPrice": .number, "priceUnit": .string, "thumbnail": .file,
            "fullsizeImage": .file, "brand": .pointer("Category"), "stock": .number, "tags": .array, "active": .boolean,
            "ratingAverage": .number, "ratingCount": .number,
        ],
        indexes: [["brand", "name"], ["brand", "active", "name"], ["name"], ["brand", "unitPrice"], ["unitPrice"]],
        textFields: ["name", "detail"],
        permissions: editable)

    /// Parse's own class for what is sold within an app. Its name is the protocol's, so that it must not be left to
    /// whoever creates an object of it first.
    static let inAppProduct = ClassDefinition(
        "_Product",
        fields: [
            "productIdentifier": .string, "download": .file, "downloadName": .string, "icon": .file, "order": .number,
            "title": .string, "subtitle": .string,
        ],
        // What is bought is no one's before that: `validate_purchase` gives it.
        permissions: editable.protecting([
            "*": ["download"], "role:\(adminsRole)": [], "role:\(OperatorArea.catalog.role)": [],
        ]))

    /// Everybody reads reviews, signed-in users write their own; ACLs say which those are. Only admins add fields.
    static let productReview = ClassDefinition(
        "ProductReview",
        fields: [
            "user": .pointer("_User"), "product": .pointer("Product"), "authorName": .string, "content": .string,
            "rating": .number,
            "moderation": .string, "moderationReason": .string,
        ],
        indexes: [["product", "createdAt"], ["user", "createdAt"], ["user", "product"]],
        permissions: ClassPermissions(
            find: .everybody, count: .everybody, get: .everybody, create: .signedIn, update: .signedIn,
            delete: .signedIn,
            addField: .role("admins")))

    static let favoriteProduct = ClassDefinition(
        "FavoriteProduct",
        fields: ["customer": .pointer("_User"), "product": .pointer("Product")],
        indexes: [["customer", "createdAt"], ["product"]],
        uniqueIndexes: [["customer", "product"]],
        permissions: ClassPermissions(
            find: .signedIn, count: .signedIn, get: .signedIn, create: .signedIn, update: .signedIn, delete: .signedIn,
            addField: .role("admins")))

    static let store = ClassDefinition(
        "Store",
        fields: [
            "name": .string, "address": .string, "city": .string, "zipcode": .string, "location": .geoPoint,
            "hours": .string,
        ],
        indexes: [["city"], ["zipcode"], ["name"]],
        permissions: editable)

    /// The pages on which the company says something about itself.
    static let page = ClassDefinition(
        "Page", fields: ["name": .string, "title": .string, "content": .string, "published": .boolean],
        indexes: [["name"]], permissions: editable)
}
