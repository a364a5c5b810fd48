class Cart:
    def total(self, items):
        result = 0
        for item in items:
            result += item.price
        return result

    def count(self, items):
        return len(items)
