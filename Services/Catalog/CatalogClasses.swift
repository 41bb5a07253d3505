import Messages
import ObjectStore

extension ClassDefinition {
    /// Public classes of the shop, written by admins and by editors of the catalog.
    private static let editable = ClassPermissions.adminWritten(and: [OperatorArea.catalog.role])

    /// A brand; the field `brand` of products points to it.
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

    /// Parse's own class for in-app products. The protocol reserves the name, so the class must exist before a client
    /// could create it with permissions of that client's choice.
    static let inAppProduct = ClassDefinition(
        "_Product",
        fields: [
            "productIdentifier": .string, "download": .file, "downloadName": .string, "icon": .file, "order": .number,
            "title": .string, "subtitle": .string,
        ],
        // Clients cannot read `download` directly: only `validate_purchase` hands it out, after a purchase.
        permissions: editable.protecting([
            "*": ["download"], "role:\(adminsRole)": [], "role:\(OperatorArea.catalog.role)": [],
        ]))

    /// All clients read reviews; signed-in users write their own, as the ACLs state. Only admins add fields.
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

    /// Company pages, such as about and privacy.
    static let page = ClassDefinition(
        "Page", fields: ["name": .string, "title": .string, "content": .string, "published": .boolean],
        indexes: [["name"]], permissions: editable)
}
