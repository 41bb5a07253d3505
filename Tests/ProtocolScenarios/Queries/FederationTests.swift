import ParseProtocol
import TestSupport
import Testing

/// Includes and sub-queries across services, which clients do not notice.
@Suite struct FederationTests {
    @Test func includesFollowPointersThroughServices() async throws {
        let suite = try await Suite.shared
        let shelf = try await Shelf.fill(suite, names: ["Far \(Names.random(4))"])
        let customer = try await Customer.signUp(suite)
        _ = try await customer.client.run("addToBag", ["productId": .string(shelf.productIds[0]), "quantity": 2])

        // bag -> bag -> catalog -> catalog, and bag -> users.
        let options: [String: JSON] = ["include": "customer,items.product.brand"]
        let found = try await customer.client.find("Order", ["orderStatus": 0], options)
        let order = try #require(found.results.first, "\(found.text)")
        #expect(order.at("customer", "__type") == "Object")
        #expect(order.at("customer", "email") == .string(customer.email))
        #expect(order.at("items", 0, "quantity") == 2)
        #expect(order.at("items", 0, "product", "name") == .string(shelf.names[0]))
        #expect(order.at("items", 0, "product", "brand", "title") == .string(shelf.title))
        #expect(order.at("items", 0, "product", "brand", "className") == "Category")
        let one = try await customer.client.get("/classes/Order/\(order.objectId)", options)
        #expect(one.json.at("items", 0, "product", "brand", "title") == .string(shelf.title))
        let plain = try await customer.client.get("/classes/Order/\(order.objectId)")
        #expect(plain.json.at("items", 0, "__type") == "Pointer")
    }

    @Test func whatCannotBeReadIsLeftOutOfAnInclude() async throws {
        let suite = try await Suite.shared
        let ada = try await Customer.signUp(suite)
        let bob = try await Customer.signUp(suite)
        let className = "Note\(Names.random(6))"
        let created = try await ada.client.create(
            className, ["author": ada.pointer, "readers": [bob.pointer, ada.pointer]])
        try #require(created.status == 201)
        let options: [String: JSON] = ["include": "author,readers"]
        let seen = try await ada.client.find(className, [:], options)
        #expect(seen.results[0].at("author", "email") == .string(ada.email))
        #expect(seen.results[0]["readers"]?.arrayValue?.count == 1, "Only the object that ada may read.")
        let other = try await ParseClient(suite).find(className, [:], options)
        #expect(other.results[0]["author"] == nil)
        #expect(other.results[0]["readers"] == [])
    }

    /// A cart as a list of objects, each with a pointer to its product.
    @Test func includesAndKeysEnterEmbeddedObjectsAndLists() async throws {
        let client = ParseClient(try await Suite.shared)
        let (cart, product, brand) = ("Cart\(Names.random(6))", "P\(Names.random(6))", "B\(Names.random(6))")
        let maker = try await client.create(brand, ["name": "Acme", "big": "x", "at": ["city": "Rome", "zip": 1]])
        let serum = try await client.create(
            product, ["name": "serum", "price": 5, "brand": .pointer(brand, maker.objectId)])
        let pointer = JSON.pointer(product, serum.objectId)
        let id = try await client.create(
            cart,
            [
                "items": [["product": pointer, "n": 2], ["text": "x"], [["product": pointer]], pointer],
                "one": ["best": ["product": pointer, "gone": .pointer(product, "none")]], "p": pointer,
            ]
        ).objectId
        func each(_ options: [String: JSON], _ check: (JSON) -> Void) async throws {
            check(try await client.get("/classes/\(cart)/\(id)", options).json)
            check(try await client.find(cart, ["objectId": .string(id)], options).results.first ?? .null)
        }
        try await each(["include": "items.product.brand,one.best.product,one.best.gone"]) { object in
            #expect(object.at("items", 0, "product", "name") == "serum")
            #expect(object.at("items", 0, "product", "brand", "name") == "Acme")
            #expect(object.at("items", 0, "n") == 2)
            #expect(object.at("items", 1) == ["text": "x"])
            #expect(object.at("items", 2, 0, "product", "brand", "name") == "Acme")
            #expect(object.at("items", 3, "__type") == "Object", "A pointer on the way is included, too.")
            #expect(object.at("one", "best", "product", "name") == "serum")
            #expect(object.at("one", "best")?.objectValue?.keys.contains("gone") == false)
            #expect(object.at("p", "__type") == "Pointer")
        }
        let standard: Set<String> = ["objectId", "createdAt", "updatedAt", "ACL", "__type", "className"]
        func fields(_ value: JSON?) -> Set<String> { Set(value?.objectValue?.keys ?? [:].keys).subtracting(standard) }
        try await each(["keys": "p.brand.at.city,items.product.brand.name"]) { object in
            #expect(fields(object) == ["p", "items"])
            #expect(fields(object["p"]) == ["brand"])
            #expect(fields(object.at("p", "brand")) == ["at"])
            #expect(object.at("p", "brand", "at") == ["city": "Rome"])
            #expect(fields(object.at("items", 0)) == ["product"])
            #expect(fields(object.at("items", 0, "product")) == ["brand"])
            #expect(fields(object.at("items", 0, "product", "brand")) == ["name"])
        }
        try await each(["keys": "p.price,p.brand.name", "include": "p.brand"]) { object in
            #expect(fields(object["p"]) == ["price", "brand"])
            #expect(fields(object.at("p", "brand")) == ["name"])
        }
        try await each(["excludeKeys": "p.brand.big,p.brand.at.zip,p.name", "keys": "p"]) { object in
            #expect(fields(object["p"]) == ["price", "brand"])
            #expect(fields(object.at("p", "brand")) == ["name", "at"])
            #expect(object.at("p", "brand", "at") == ["city": "Rome"])
        }
    }

    @Test(arguments: [["include": "*"], ["includeAll": true]] as [[String: JSON]])
    func everyPointerOfAnObjectIsIncluded(options: [String: JSON]) async throws {
        let suite = try await Suite.shared
        let master = ParseClient.master(suite)
        let leaf = "Leaf\(Names.random(6))"
        let inner = try await master.create(leaf, ["name": "inner"]).objectId
        let outer = try await master.create(leaf, ["name": "outer", "next": .pointer(leaf, inner)]).objectId
        let id = try await master.create(
            "Tree\(leaf)", ["one": .pointer(leaf, outer), "many": [.pointer(leaf, inner), "text"], "n": 1]
        ).objectId
        for object in [
            try await master.get("/classes/Tree\(leaf)/\(id)", options).json,
            try await master.find("Tree\(leaf)", [:], options).results[0],
        ] {
            #expect(object.at("one", "name") == "outer")
            #expect(object.at("one", "next", "__type") == "Pointer", "One level only.")
            #expect(object.at("many", 0, "name") == "inner")
            #expect(object.at("many", 1) == "text")
        }
    }

    @Test func subQueriesReachOtherServices() async throws {
        let suite = try await Suite.shared
        let shelf = try await Shelf.fill(suite, names: ["In", "Out"].map { "\($0) \(Names.random(4))" })
        let empty = try await Shelf.fill(suite, names: ["Else \(Names.random(4))"])
        let customer = try await Customer.signUp(suite)
        _ = try await customer.client.run("addToBag", ["productId": .string(shelf.productIds[0])])
        func names(_ className: String, _ condition: JSON) async throws -> [String] {
            let answer = try await customer.client.find(className, condition, ["order": "name,title"])
            #expect(answer.status == 200, "\(answer.text)")
            return answer.results.map { $0["name"]?.stringValue ?? $0.text("title") }
        }
        let brands: JSON = ["className": "Category", "where": ["title": .string(shelf.title)]]
        #expect(try await names("Product", ["brand": ["$inQuery": brands]]) == shelf.names)
        let not: JSON = ["brand": ["$notInQuery": brands, "$in": [shelf.pointer, empty.pointer]]]
        #expect(try await names("Product", not) == empty.names)

        // OrderItem belongs to bag; Product and Category belong to the catalog.
        let items: JSON = [
            "className": "OrderItem",
            "where": ["product": ["$inQuery": ["className": "Product", "where": ["brand": shelf.pointer]]]],
        ]
        let orders = try await customer.client.find("Order", ["items": ["$inQuery": items]])
        #expect(orders.results.count == 1, "\(orders.text)")
        let selected: JSON = [
            "brand": shelf.pointer,
            "objectId": ["$select": ["query": ["className": "OrderItem", "where": [:]], "key": "product.objectId"]],
        ]
        #expect(try await names("Product", selected) == [shelf.names[0]])
        let rest: JSON = [
            "brand": shelf.pointer,
            "objectId": [
                "$dontSelect": ["query": ["className": "OrderItem", "where": [:]], "key": "product.objectId"]
            ],
        ]
        #expect(try await names("Product", rest) == [shelf.names[1]])
        let within: JSON = ["$or": [["brand": ["$inQuery": brands]], ["name": .string(empty.names[0])]]]
        #expect(try await names("Product", within) == (shelf.names + empty.names).sorted())
    }

    /// Members of a relation in the same service.
    @Test func relationsKeepTheirMembers() async throws {
        let suite = try await Suite.shared
        let client = ParseClient(suite)
        let shelf = try await Shelf.fill(suite, names: ["A", "B", "C"].map { "\($0) \(Names.random(4))" })
        let className = "Look\(Names.random(6))"
        let members = shelf.productIds.map { JSON.pointer("Product", $0) }
        let created = try await client.create(
            className, ["products": ["__op": "AddRelation", "objects": .array(members)]])
        try #require(created.status == 201, "\(created.text)")
        let owner = JSON.pointer(className, created.objectId)
        let condition: JSON = ["$relatedTo": ["object": owner, "key": "products"]]
        let options: [String: JSON] = ["order": "name"]
        #expect(try await client.find("Product", condition, options).results.map(\.objectId) == shelf.productIds)
        let change: JSON = ["products": ["__op": "RemoveRelation", "objects": [members[1]]]]
        #expect(try await client.call(.PUT, "/classes/\(className)/\(created.objectId)", change).status == 200)
        #expect(
            try await client.find("Product", condition, options).results.map(\.objectId)
                == [shelf.productIds[0], shelf.productIds[2]])
        #expect(
            try await client.get("/classes/\(className)/\(created.objectId)").json.at("products", "className")
                == "Product")
    }
}
